package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/view"
)

// version is what this program is called; a build may set another with
// -ldflags "-X pipeline/cmd/pipeline/internal/cli.version=…".
var version = "0.1.0"

// edition is the newest edition of the language that this program knows.
const edition = 1

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and of the language",
		Long: "version prints the version of this program, the newest edition of the language that it reads, the commit it was\n" +
			"built from where that is known, and the platform.",
		Args: noArgument,
		RunE: func(*cobra.Command, []string) error {
			a.view.Version(view.Version{
				Version: version, Language: edition, Revision: revision(),
				Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			})
			return nil
		},
	}
}

// revision is the commit that the program was built from, where it is known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return "commit " + revision + modified
}
