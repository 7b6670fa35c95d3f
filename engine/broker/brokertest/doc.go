// Package brokertest holds the cases that every broker has to pass, in memory
// or on a server, so that the engine can rely on the same behaviour of all of
// them. The package does not know which broker it tests:
//
//	func TestConformance(t *testing.T) {
//		brokertest.Run(t, func(t *testing.T) *brokertest.Env { … })
//	}
//
// A case that needs what the server says it lacks is skipped and names it.
// Compare runs the same random operations on two brokers.
package brokertest
