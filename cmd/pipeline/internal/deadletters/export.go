package deadletters

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"unicode/utf8"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
)

// Exporter writes letters as JSON Lines. A line is an envelope as input files
// have them, so that publish, dry-run and dev read it: the fields of the entry as
// it was, in their order, byte for byte, and beside them what the letter says.
type Exporter struct {
	enc *json.Encoder
	// Letters is how many were written.
	Letters int64
}

// NewExporter writes to w.
func NewExporter(w io.Writer) *Exporter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &Exporter{enc: enc}
}

// exported is one line.
type exported struct {
	Stream string      `json:"stream"`
	Fields []rawField  `json:"fields"`
	Letter deathRecord `json:"dead_letter"`
}

// deathRecord is what a line says about the letter. Removed are the fields that
// dead letters and retries had added.
type deathRecord struct {
	Stream          string     `json:"stream"`
	ID              string     `json:"id"`
	Reason          string     `json:"reason"`
	Error           string     `json:"error"`
	Entry           string     `json:"entry"`
	Group           string     `json:"group"`
	Subscription    string     `json:"subscription"`
	Consumer        string     `json:"consumer"`
	Attempts        int        `json:"attempts"`
	PipelineVersion string     `json:"pipeline_version"`
	Removed         []rawField `json:"removed"`
}

// rawField is a field as JSON: [name, value]. Text that is no UTF-8 is {"base64":…} in
// place of a string.
type rawField broker.Field

// MarshalJSON is the pair.
func (f rawField) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]any{rawText(f.Name), rawText(f.Value)})
}

func rawText(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(s))}
}

// Write writes one letter.
func (x *Exporter) Write(l *Letter) error {
	line := exported{Stream: l.Facts.Stream, Fields: []rawField{}, Letter: deathRecord{
		Stream: l.Source.Stream.Name, ID: l.ID.String(), Reason: l.Facts.Reason, Error: l.Facts.Error, Entry: l.Facts.ID,
		Group: l.Facts.Group, Subscription: l.Facts.Subscription, Consumer: l.Facts.Consumer, Attempts: l.Facts.Attempts,
		PipelineVersion: l.Facts.PipelineVersion, Removed: []rawField{},
	}}
	for _, f := range l.Fields {
		if len(codec.Replay([]broker.Field{f})) == 0 {
			line.Letter.Removed = append(line.Letter.Removed, rawField(f))
		} else {
			line.Fields = append(line.Fields, rawField(f))
		}
	}
	x.Letters++
	return x.enc.Encode(line)
}
