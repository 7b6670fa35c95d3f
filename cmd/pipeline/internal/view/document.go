package view

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Document prints a document as it is: a text that ends with a line break, or
// data as indented JSON. In JSON it is one event with the format's name.
func (v *View) Document(event, format string, document any) error {
	if v.o.JSON {
		v.event(struct {
			Event    string `json:"event"`
			Format   string `json:"format"`
			Document any    `json:"document"`
		}{event, format, document})
		return nil
	}
	if text, ok := document.(string); ok {
		v.write([]byte(strings.TrimSuffix(text, "\n") + "\n"))
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return err
	}
	v.write(b.Bytes())
	return nil
}

// Pages says which files of the manual were written.
func (v *View) Pages(dir string, pages []string) {
	if v.o.JSON {
		v.event(struct {
			Event string   `json:"event"`
			Dir   string   `json:"dir"`
			Pages []string `json:"pages"`
		}{"man", dir, pages})
		return
	}
	v.write([]byte(strconv.Itoa(len(pages)) + " pages are in " + clean(dir) + "\n"))
}
