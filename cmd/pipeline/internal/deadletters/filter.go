package deadletters

import (
	"slices"
	"strings"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
)

// Reasons are those that a letter can have.
var Reasons = []string{
	codec.ReasonFailed, codec.ReasonInvalid, codec.ReasonTooLarge, codec.ReasonRejected, codec.ReasonExpired,
	codec.ReasonBodyMissing,
}

// Filter chooses letters. All that is set has to hold; the zero Filter chooses
// every letter, those of others too.
type Filter struct {
	// Group is the name on the server of the group that buried it, on GroupStream.
	Group, GroupStream string
	// Reasons and Subscriptions are alternatives.
	Reasons, Subscriptions []string
	// Error is a part of the error's text, in any case of letters.
	Error string
	// Key is the partition key; nil is any, "" none.
	Key *string
	// IDs are those of letters, Entries those of the entries that they were.
	IDs, Entries []broker.ID
	// From and To bound the ids of letters, both inclusive; a zero To is the end.
	From, To broker.ID
}

// Empty reports whether a filter chooses everything.
func (f *Filter) Empty() bool {
	return f.Group == "" && len(f.Reasons)+len(f.Subscriptions)+len(f.IDs)+len(f.Entries) == 0 && f.Error == "" && f.Key == nil &&
		f.From.IsZero() && f.To.IsZero()
}

// last is the last id that can be chosen.
func (f *Filter) last() broker.ID {
	if f.To.IsZero() {
		return broker.MaxID
	}
	return f.To
}

// Match reports whether a letter is chosen.
func (f *Filter) Match(l *Letter) bool {
	switch {
	case l.ID.Less(f.From) || f.last().Less(l.ID):
	case len(f.IDs) > 0 && !slices.Contains(f.IDs, l.ID):
	case f.Group != "" && (!l.Known || l.Facts.Group != f.Group || l.Facts.Stream != f.GroupStream):
	case len(f.Reasons) > 0 && !slices.Contains(f.Reasons, l.Facts.Reason):
	case len(f.Subscriptions) > 0 && !slices.Contains(f.Subscriptions, l.Facts.Subscription):
	case f.Error != "" && !strings.Contains(strings.ToLower(l.Facts.Error), strings.ToLower(f.Error)):
	case f.Key != nil && l.Key() != *f.Key:
	case len(f.Entries) > 0 && !f.isEntry(l):
	default:
		return true
	}
	return false
}

func (f *Filter) isEntry(l *Letter) bool {
	id, err := broker.ParseID(l.Facts.ID)
	return err == nil && l.Known && slices.Contains(f.Entries, id)
}
