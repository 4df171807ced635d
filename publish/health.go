package publish

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"gateway/model"
)

// unhealthy is how often in a row publishing a set fails before it counts: a
// lost connection is over the next time.
const unhealthy = 2

// Health returns what keeps Run from publishing: sets that failed several times
// in a row, or a full disk at once. It is nil again when they have been published.
func (p *Publisher) Health() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failing []model.SetID
	for set, d := range p.waiting {
		if d.failures >= unhealthy || errors.Is(d.err, syscall.ENOSPC) {
			failing = append(failing, set)
		}
	}
	if len(failing) == 0 {
		return nil
	}
	first := slices.Min(failing)
	return fmt.Errorf("publishing fails in %d sets: %w", len(failing), p.waiting[first].err)
}
