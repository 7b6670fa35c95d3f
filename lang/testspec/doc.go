// Package testspec is the tests of a pipeline as plain data: what *_test.hcl
// files come to, what a runner tells of a run, and what becomes of an assert.
//
// lang.LoadTests makes a Suite; whoever runs it goes through its tests like
// this:
//
//	suite, report := lang.LoadTests(fsys, path, lang.Options{…})
//	for _, t := range suite.Tests {
//		if t.Pipeline == nil {
//			unmet := t.CheckProblems()      // the files themselves have the error that is expected
//		}
//		// a broker of its own that plays t.Server, t.Existing added,
//		// handlers with t.Mocks in front of them, the service started;
//		// with t.Expect: t.Expect.Unmet(code, message) of what the start said
//		for _, s := range t.Steps {
//			// workers that crashed are replaced, s.Faults armed, s.Publishes
//			// added in order, the clock moved by s.Advance, everything run
//			// until it is idle
//			for _, a := range s.Asserts {
//				result := a.Check(state)    // state: all that was seen since the start
//			}
//		}
//	}
//
// Tests are independent of each other and may run at the same time: nothing
// here is changed after loading.
package testspec
