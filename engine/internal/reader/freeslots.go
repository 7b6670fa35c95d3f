package reader

import (
	"context"
	"strconv"
	"strings"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// adopt takes over what is pending under slots of this machine that nobody holds,
// where nobody claims: a process that was killed and started again before its
// lease ran out has another slot than the one whose entries wait. A slot counts as
// nobody's when it was free at two looks: a process that lives and only lost its
// lease has another one between them.
func (s *Sweeper) adopt(ctx context.Context) error {
	if s.Leased > 0 || s.Slot.Token == "" {
		return nil
	}
	free, err := s.abandoned(ctx)
	if err != nil {
		return err
	}
	for name := range free {
		if !s.suspects[name] {
			continue
		}
		if err := s.inheritFrom(ctx, name); err != nil {
			return err
		}
	}
	s.suspects = free
	return nil
}

// abandoned are the consumers of this machine that have entries pending and whose
// slot is free.
func (s *Sweeper) abandoned(ctx context.Context) (map[string]bool, error) {
	consumers, err := s.Broker.ConsumerInfos(ctx, s.Owner.Stream, s.Owner.Group)
	if err != nil {
		return nil, err
	}
	left, most := map[int][]string{}, -1
	for _, c := range consumers {
		if n, ok := s.slotOf(c.Name); ok && c.Pending > 0 && !strings.HasPrefix(c.Name, s.Predecessors) {
			left[n] = append(left[n], c.Name)
			most = max(most, n)
		}
	}
	found := map[string]bool{}
	var taken []broker.SlotRequest
	var numbers []int
	defer func() {
		for i, r := range taken {
			_ = s.Broker.ReleaseSlot(ctx, r, numbers[i]) // else it runs out
		}
	}()
	for last := -1; last < most; {
		r := s.Slot
		r.Token += "~" + strconv.Itoa(len(taken))
		n, err := s.Broker.AcquireSlot(ctx, r)
		if err != nil {
			return nil, err
		}
		taken, numbers, last = append(taken, r), append(numbers, n), n
		for _, name := range left[n] {
			found[name] = true
		}
	}
	return found, nil
}

// slotOf is the number of the slot in the name of a consumer of this machine.
func (s *Sweeper) slotOf(consumer string) (int, bool) {
	rest, ok := strings.CutPrefix(consumer, s.Slot.Base+"-")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil
}

// inheritFrom takes over what a consumer left pending, and removes it.
func (s *Sweeper) inheritFrom(ctx context.Context, consumer string) error {
	n, err := s.sweep(ctx, consumer, s.leased)
	if err != nil {
		return err
	}
	if n > 0 {
		s.Event(observe.Event{
			Name: observe.EventTakenOver, Level: sandbox.Info, Count: n,
			Message: "took over what " + consumer + " left pending",
		})
	}
	owner := s.Owner
	owner.Consumer = consumer
	_, err = s.Broker.RemoveConsumer(ctx, owner)
	return err
}
