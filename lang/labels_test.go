package lang_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pipeline/lang"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []lang.Label
	}{
		"nothing": {"", nil},
		"a block": {`stream "a" {}`, []lang.Label{{"stream", "a", ""}}},
		"names on the server": {
			"stream \"a\" {\n  name = \"shop.a\"\n  codec = \"json\"\n}\ngroup \"g\" {\n  name = \"g2\"\n  subscription \"s\" {\n    consumer = \"c\"\n  }\n}\n",
			[]lang.Label{{"stream", "a", "shop.a"}, {"group", "g", "g2"}, {"subscription", "s", "c"}},
		},
		"a computed name": {"stream \"a\" {\n  name = \"${local.x}.a\"\n}", []lang.Label{{"stream", "a", ""}}},
		"another block's name": {
			"stream \"a\" {\n  retention {\n    name = \"x\"\n  }\n}", []lang.Label{{"stream", "a", ""}},
		},
		"a name in an object": {"stream \"a\" {\n  x = {\n    name = \"x\"\n  }\n}", []lang.Label{{"stream", "a", ""}}},
		"comments":            {"# stream \"no\" {}\n/* stream \"no\" {} */\n// x\nstream \"a\" {}", []lang.Label{{"stream", "a", ""}}},
		"in an invalid file":  {"stream \"a\" {\n  codec = = 5\n}}}\ngroup \"g\" {\n  stream =\nstream \"b\" ", []lang.Label{{"stream", "a", ""}, {"group", "g", ""}, {"stream", "b", ""}}},
		"two labels":          {`stream "a" "b" {}`, []lang.Label{{"stream", "a", ""}}},
		"deep nesting":        {strings.Repeat("{", 300_000) + "\nstream \"a\" {}", []lang.Label{{"stream", "a", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lang.Labels(fstest.MapFS{"p.hcl": {Data: []byte(c.text)}}, "p.hcl")
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLabelsOfDirectories(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"d/a.hcl":      {Data: []byte(`stream "a" {}`)},
		"d/b.hcl":      {Data: []byte(`stream "b" {}`)},
		"d/b_test.hcl": {Data: []byte(`stream "test" {}`)},
		"d/c.txt":      {Data: []byte(`stream "text" {}`)},
	}
	if got, want := lang.Labels(files, "d"), []lang.Label{{"stream", "a", ""}, {"stream", "b", ""}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for i := range 100 {
		files[fmt.Sprintf("large/%03d.hcl", i)] = &fstest.MapFile{Data: []byte("stream \"a\" {}\n" + strings.Repeat("#", 1<<20))}
	}
	if got := lang.Labels(files, "large"); len(got) != 2 {
		t.Errorf("%d labels: the bound does not hold", len(got))
	}
	if got := lang.Labels(files, "nowhere"); got != nil {
		t.Errorf("from nowhere: %v", got)
	}
	if got := lang.Labels(lang.OS(), os.DevNull); got != nil {
		t.Errorf("from a device: %v", got)
	}
}

func FuzzLabels(f *testing.F) {
	f.Add("stream \"a\" {\n name = \"b\"\n}")
	f.Add("x = \"${\n{\"")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range lang.Labels(fstest.MapFS{"p.hcl": {Data: []byte(text)}}, "p.hcl") {
			if l.Block == "" || l.Name == "" {
				t.Errorf("a label without a name: %v", l)
			}
		}
	})
}
