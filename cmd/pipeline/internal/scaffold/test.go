package scaffold

import (
	"path/filepath"

	"pipeline/engine/spec"
)

// Test is a test of a pipeline: one case for the first subscription of every
// group, each with an entry made from the declared type.
func Test(name string, p *spec.Pipeline) ([]File, error) {
	var subjects []subject
	for _, g := range p.Groups {
		for _, s := range g.Subscriptions {
			// One that takes over pending entries sees no new ones.
			if s.Claim == nil || !s.Claim.Only {
				subjects = append(subjects, subject{subscription: s.Label, stream: g.Stream})
				break
			}
		}
	}
	if len(subjects) == 0 {
		return nil, &EmptyError{"subscription that reads new entries"}
	}
	return []File{testFile(name, p.Name, subjects)}, nil
}

// TestSteps are what to do with a new test.
func TestSteps(directory, name string) []Step {
	return []Step{
		{"pipeline test " + quoted(directory), "run it; then let its asserts say what you expect"},
		{"pipeline fmt " + quoted(filepath.Join(directory, name+"_test.hcl")), "lay it out"},
	}
}

// subject is what a case is about.
type subject struct {
	subscription string
	stream       *spec.Stream
}

// testFile is the file of a test; what is tested is called by a name.
func testFile(name, of string, subjects []subject) File {
	type testCase struct{ Name, Subscription, Stream, Entry string }
	data := struct {
		Of    string
		Cases []testCase
	}{Of: of}
	for _, s := range subjects {
		// Names of tests are unique in the pipeline, and so is that of the file.
		label := s.subscription + " takes an entry"
		if name != s.subscription {
			label = name + ": " + label
		}
		data.Cases = append(data.Cases, testCase{label, s.subscription, s.stream.Label, body(s.stream, 6)})
	}
	return File{name + "_test.hcl", laidOut(render("test.hcl", data))}
}
