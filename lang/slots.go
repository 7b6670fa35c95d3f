package lang

import (
	"fmt"
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// checkSlots reports replies and dead letters that a cluster cannot write in
// one step with the acknowledgement, because the streams lie in other slots. It
// is an error where the step would have to mark a key as well, which the engine
// refuses.
func (l *loader) checkSlots(p *spec.Pipeline, g *builtGroup, subs []*builtSub) {
	if !p.Broker.Cluster || g.spec.Stream == nil {
		return
	}
	source := g.node.val("stream")
	if d := g.node.one("dead_letter"); d != nil && g.spec.DeadLetter != nil {
		l.slot(g.spec.Stream, g.spec.DeadLetter, d.val("to").rng, source.rng, "dead letters", nil)
	}
	for _, s := range subs {
		for _, r := range append(s.node.all("reply"), s.node.all("route")...) {
			if to := r.val("to"); to.ref != nil {
				l.slot(g.spec.Stream, l.built.streams[to.ref], to.rng, source.rng, "replies", s.node.one("idempotency"))
			}
		}
	}
}

// slot compares two streams; marks is the idempotency block of those that write
// to the target, if any.
func (l *loader) slot(source, target *spec.Stream, at, sourceAt diag.Range, what string, marks *node) {
	if slot(source.Name) == slot(target.Name) {
		return
	}
	common := commonTag(source.Name, target.Name)
	tags := fmt.Sprintf("Give both names one tag: %q and %q.", tagged(source.Name, common), tagged(target.Name, common))
	summary := fmt.Sprintf("%s and %s lie in different slots of the cluster", source.Name, target.Name)
	if marks != nil {
		l.add(diag.Error, diag.SlotsDiffer, at, summary,
			"A reply and the mark of its entry's idempotency key are written in one step, which no server of a cluster can do for two slots. "+tags).
			Relate(sourceAt, "the group reads "+source.Name).Relate(l.header(marks), "the idempotency block is here")
		return
	}
	l.add(diag.Warning, diag.SlotsDiffer, at, summary,
		fmt.Sprintf("Writing %s and acknowledging is then not one step. From Redis 8.6 on the server recognises for a day, or for the retry policy's max_age, what was written before; "+
			"below they are written at least once. %s", what, tags)).
		Relate(sourceAt, "the group reads "+source.Name)
}

// tag is the part of a key that decides its slot: what stands between the first
// { and the next }, unless that is empty, and else the whole key.
func tag(key string) string {
	_, after, ok := strings.Cut(key, "{")
	if !ok {
		return key
	}
	inner, _, closed := strings.Cut(after, "}")
	if !closed || inner == "" {
		return key
	}
	return inner
}

// tagged is a key with a tag in front that puts it into the tag's slot.
func tagged(key, with string) string {
	if tag(key) == with && strings.Contains(key, "{") {
		return key
	}
	bare := strings.NewReplacer("{", "", "}", "").Replace(key)
	rest, ok := strings.CutPrefix(bare, with)
	if !ok {
		rest = ":" + bare
	}
	return "{" + with + "}" + rest
}

// commonTag is the tag to give to two keys: the first part that they share, up
// to a dot or colon, else the source's own.
func commonTag(source, target string) string {
	if strings.Contains(source, "{") {
		return tag(source)
	}
	if i := strings.IndexAny(source, ".:"); i > 0 && strings.HasPrefix(target, source[:i+1]) {
		return source[:i]
	}
	return source
}

// slot is the hash slot of a key, as Redis Cluster computes it: CRC16 (XMODEM)
// of the tag, modulo 16384.
func slot(key string) uint16 {
	var crc uint16
	for _, b := range []byte(tag(key)) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}
