package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// roff writes a manual page. Every text goes through escape, so that none of it
// is read as a request.
type roff struct{ b strings.Builder }

// escape makes a text stand for itself.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
}

// line writes one line of text.
func (r *roff) line(text string) {
	text = escape(strings.TrimRight(text, " "))
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	r.b.WriteString(text + "\n")
}

func (r *roff) request(text string) { r.b.WriteString("." + text + "\n") }

func (r *roff) section(name string) { r.request(`SH "` + name + `"`) }

// literal writes lines as they are.
func (r *roff) literal(lines []string) {
	r.request("PP")
	r.request("RS 4")
	r.request("nf")
	for _, l := range lines {
		r.line(strings.TrimPrefix(l, "  "))
	}
	r.request("fi")
	r.request("RE")
}

// prose writes paragraphs, which empty lines divide; an indented one stands as
// it is.
func (r *roff) prose(text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		if strings.HasPrefix(paragraph, "  ") {
			r.literal(lines)
			continue
		}
		if i > 0 {
			r.request("PP")
		}
		for _, l := range lines {
			r.line(l)
		}
	}
}

// item writes a term with what it means.
func (r *roff) item(term, meaning string) {
	r.request("TP")
	r.b.WriteString(`\fB` + escape(term) + `\fR` + "\n")
	r.line(meaning)
}

// flags writes the flags of a set under a heading.
func (r *roff) flags(heading string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	r.section(heading)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		term := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			term = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + term
		}
		if value != "" {
			term += ` \fI` + escape(value) + `\fR`
		}
		if !zero(f) {
			text += " (default " + f.DefValue + ")"
		}
		r.request("TP")
		r.b.WriteString(term + "\n")
		r.line(upperStart(text) + ".")
	})
}

// zero reports a flag whose default says nothing.
func zero(f *pflag.Flag) bool {
	return f.DefValue == "" || f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "[]"
}

func upperStart(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// manText is the page of a command.
func manText(c *cobra.Command, date string) string {
	c.InitDefaultHelpFlag()
	r := &roff{}
	r.request(fmt.Sprintf(`TH "%s" 1 "%s" "pipeline %s" "User Commands"`, escape(strings.ToUpper(manName(c))), escape(date), escape(version)))
	r.section("NAME")
	r.line(manName(c) + " - " + lowerStart(c.Short))
	r.section("SYNOPSIS")
	r.b.WriteString(`\fB` + escape(c.CommandPath()) + `\fR ` + escape(synopsis(c)) + "\n")
	r.section("DESCRIPTION")
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	r.prose(text)
	if c.HasAvailableSubCommands() {
		r.section("COMMANDS")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				r.item(sub.Use, sub.Short+".")
			}
		}
	}
	r.flags("OPTIONS", c.NonInheritedFlags())
	r.flags("COMMON OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		r.section("EXAMPLES")
		r.literal(strings.Split(c.Example, "\n"))
	}
	r.surroundings()
	r.seeAlso(c)
	return r.b.String()
}

// synopsis is what follows the command's name.
func synopsis(c *cobra.Command) string {
	_, arguments, _ := strings.Cut(c.Use, " ")
	if c.HasAvailableSubCommands() {
		arguments = "COMMAND"
	}
	return strings.TrimSpace(arguments + " [OPTIONS]")
}

func lowerStart(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + text[1:]
}

// surroundings are the sections that all pages share.
func (r *roff) surroundings() {
	r.section("EXIT STATUS")
	for _, e := range exitDocs {
		r.item(strconv.Itoa(e.code), upperStart(e.means)+".")
	}
	r.request("PP")
	r.line("A code other than 0 always comes with a line that says why.")
	r.section("ENVIRONMENT")
	for _, e := range envDocs {
		r.item(e[0], e[1])
	}
}

// seeAlso names the command above and those below; for a command of the first
// level its neighbours are named by pipeline(1).
func (r *roff) seeAlso(c *cobra.Command) {
	var pages []string
	add := func(other *cobra.Command) {
		if other == c.Root() || other.IsAvailableCommand() {
			pages = append(pages, `\fB`+escape(manName(other))+`\fR(1)`)
		}
	}
	if c.HasParent() {
		add(c.Root())
		if c.Parent() != c.Root() {
			add(c.Parent())
		}
	}
	for _, sub := range c.Commands() {
		add(sub)
	}
	if len(pages) == 0 {
		return
	}
	r.section("SEE ALSO")
	r.b.WriteString(strings.Join(pages, ", ") + "\n")
}
