package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// reload is what happens when a script has changed.
type reload struct {
	// replace takes the new code.
	replace func(label string, h sandbox.Handler) error
	// refused is told of code that cannot be taken.
	refused func(h *spec.Handler, err error)
}

// watcher takes handler scripts as they change.
type watcher struct {
	clock    clock.Clock
	pipeline *spec.Pipeline
	handlers *build.Handlers
	reload   reload
	files    *fsnotify.Watcher
	done     chan struct{}
}

// settleTime is how long a folder must be quiet before scripts are read:
// editors write a file in several steps.
const settleTime = 100 * time.Millisecond

// watchScripts watches the folders that hold the scripts of p, not the files:
// editors and deployments replace a file by renaming another one over it. Close
// the watcher before the handlers.
func (a *app) watchScripts(p *spec.Pipeline, handlers *build.Handlers, r reload) (*watcher, error) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch scripts: %w", err)
	}
	w := &watcher{clock: a.clock, pipeline: p, handlers: handlers, reload: r, files: files, done: make(chan struct{})}
	for _, folder := range scriptFolders(p) {
		if err := files.Add(folder); err != nil {
			return nil, fmt.Errorf("watch %s: %w", folder, errors.Join(err, files.Close()))
		}
	}
	go w.run()
	return w, nil
}

// scriptFolders are the folders of all scripts, each once.
func scriptFolders(p *spec.Pipeline) []string {
	var folders []string
	for _, h := range build.Used(p) {
		for _, file := range build.Files(h) {
			folders = append(folders, filepath.Dir(file))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// close stops watching and waits for a reload under way.
func (w *watcher) close() {
	_ = w.files.Close() // nothing is left to be told
	<-w.done
}

// run waits for changes until the watcher is closed.
func (w *watcher) run() {
	defer close(w.done)
	quiet := w.clock.NewTimer(time.Hour)
	defer quiet.Stop()
	quiet.Stop()
	for {
		select {
		case _, ok := <-w.files.Events:
			if !ok {
				return
			}
			quiet.Reset(settleTime)
		case _, ok := <-w.files.Errors:
			if !ok {
				return
			}
			// Events were lost, so any script may have changed.
			quiet.Reset(settleTime)
		case <-quiet.C():
			w.refresh()
		}
	}
}

// refresh compiles what has changed.
func (w *watcher) refresh() {
	for _, h := range build.Used(w.pipeline) {
		code, changed, err := w.handlers.Refresh(h)
		if err == nil && changed {
			err = w.reload.replace(h.Label, code)
		}
		if err != nil {
			w.reload.refused(h, err)
		}
	}
}
