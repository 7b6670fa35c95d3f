package bench

import (
	"runtime/metrics"
	"time"

	"pipeline/engine/clock"
)

// meter tells what this process has used.
type meter struct {
	clock   clock.Clock
	start   reading
	samples []metrics.Sample
}

// reading is the state of all counters at one moment.
type reading struct {
	at      time.Time
	cpu     time.Duration
	bytes   uint64
	objects uint64
}

func newMeter(c clock.Clock) *meter {
	return &meter{clock: c, samples: []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"}}}
}

// read takes a few microseconds and stops nobody, unlike runtime.ReadMemStats.
func (m *meter) read() reading {
	samples := []metrics.Sample{m.samples[0], m.samples[1]}
	metrics.Read(samples)
	return reading{m.clock.Now(), processCPU(), samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

// begin makes now the start.
func (m *meter) begin() { m.start = m.read() }

// use is what was used from the start to a reading.
func (m *meter) use(at reading) Use {
	return Use{
		Elapsed: at.at.Sub(m.start.at), CPU: at.cpu - m.start.cpu,
		Bytes: at.bytes - m.start.bytes, Objects: at.objects - m.start.objects, RSS: residentMemory(),
	}
}
