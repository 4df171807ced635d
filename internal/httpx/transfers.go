package httpx

import "sync/atomic"

// Bounds on what clients can make the gateway hold, unless options say otherwise.
const (
	DefaultTransfers = 256
	defaultHeld      = 64 << 20
)

// transfers counts the bodies being sent, but for sealed documents.
type transfers struct {
	running atomic.Int64
	max     int64
	held    atomic.Int64 // bytes of rendered documents
	maxHeld int64
}

// begin makes room for one transfer, which end gives back.
func (t *transfers) begin() (end func(), err error) {
	if t.running.Add(1) > t.max {
		t.running.Add(-1)
		return nil, problem(ProblemBusy)
	}
	return t.end, nil
}

func (t *transfers) end() { t.running.Add(-1) }

// hold makes room for a document of n bytes, which a slow client may keep in
// memory for long. One that is larger than all the room there is waits for
// nothing when it is alone.
func (t *transfers) hold(n int) error {
	if held := t.held.Add(int64(n)); held > t.maxHeld && held != int64(n) {
		t.held.Add(-int64(n))
		return problem(ProblemBusy)
	}
	return nil
}

func (t *transfers) release(n int) { t.held.Add(-int64(n)) }
