// Package queue keeps jobs in order.
//
// A second paragraph.
package queue

import (
	"context"
	. "errors"
	_ "image/png"
	pb "example.com/api/v1"
)

import "C"

// MaxJobs limits a queue.
const MaxJobs = 1 << 10

const (
	// Idle means that nothing runs.
	Idle State = iota
	Running
	stopped, failed // two at once
	_
)

var ErrFull, errClosed = New("full"), New("closed")

var _ Runner = (*Queue[int])(nil)

var (
	handler = func(ctx context.Context) {
		type inHandler struct{}
	}
	limits = map[string]struct {
		soft, hard int
	}{}
)

// State says what a job does.
type State uint8

type (
	// Job is one piece of work.
	Job[T any] struct {
		ID, Name string `json:"id"` // who it is
		// Payload travels with the job.
		Payload T
		*pb.Meta
		Clock[T]
		done  func(error) error
		retry struct {
			Times int
			delay []struct{ Unit string }
		}
		_ [4]byte
	}

	Handler func(ctx context.Context, job *Job[int]) error
	Alias   = State
)

// Runner runs jobs.
type Runner interface {
	context.Context
	// Run blocks.
	Run(ctx context.Context) (int, error)
	Stop()
	~int | ~string
}

type Queue[T any] struct{ jobs []Job[T] }

type Table []struct {
	Row int
}

func init() { println("one") }

// NewQueue makes a queue.
//go:noinline
func NewQueue[T any, P interface{ Do() T }](
	size int,
	options ...func(*Queue[T]),
) (*Queue[T], error) {
	type local struct{ count int }
	check := func() error { return nil }
	if size > 0 {
		type inIf interface{ Go() }
	}
	return &Queue[T]{}, check()
}

func (q *Queue[T]) Push(job Job[T]) error {
	const hidden = 1
	var alsoHidden int
	return nil
}

func (State) String() string { return "" }

//go:nosplit
func (_ *Queue[T],) len() int

func _() {}

func broken(a int {
	return
}

func (q Queue[T]) After() {
	x := = 1
}

func Last() {}
