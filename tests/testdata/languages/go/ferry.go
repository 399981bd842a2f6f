//go:build linux && !cgo

/*
Package main runs ferries.

	func notHere() {}
*/
package main

import "fmt"
import (
	"net/http"
	"example.com/harbour/v2/log"; "os"
)

//go:embed timetable.txt
var timetable string

//go:generate stringer -type=Kind
type Kind int

const (
	Car, Passenger Kind = iota, iota + 1
	Cargo          = Kind(7)
	raw            = `
func inRaw() {}
type InRaw struct{}
`
)

const big, small = 1 << 40, 'f'; const last = "type NotAType int"

var a, b = 1, func() int { return 2 }()
var (
	mu       struct{ locked bool }
	ch       = make(chan func(int) error)
	registry = map[string]func() (Ferry, error){
		"car": func() (Ferry, error) { type local struct{ x int }; return nil, nil },
	}
)

var (
	// berths are counted from the east.
	berths = 4
)

type Ferry interface {
	fmt.Stringer
	Sail(to string, opts ...Option) (n int, err error)
	Load(func(x int) bool) <-chan Kind
	private()
	~int | ~string
	interface{ Nested() }
}

type Number interface{ ~int | ~int64 | float64 }
type Empty interface{}
type Option func(*config) error
type Matrix [3][4]float64
type Tree[K comparable, V any] struct {
	left, right *Tree[K, V]
	key         K
	Visit       func(K, V) bool
	sync        <-chan struct{}
	inner       struct{ depth, Width int }
	Kind
	*http.Server `json:"-"`
	pkg.Generic[K]
}
type Pair[A, B any] struct{ First A; Second B }
type Set[T comparable] = map[T]struct{}
type (
	Point struct{ X, Y int }
	ID    string
)

// Sail does
// what it says.
func (t *Tree[K, V]) Sail(
	to string,
	opts ...Option,
) (n int, err error) {
	const local = 3
	type step struct{ at int }
	helper := func(s step) { _ = s }
	for range 10 {
		helper(step{at: local})
	}
	switch v := any(to).(type) {
	case string:
		return len(v), nil
	}
label:
	for {
		break label
	}
	return
}

func (Point) String() string { return "func (x Y) Z() {}" }
func (_ *Point) Move(dx, dy int) { func() { println(dx) }() }
func (p Pair[_, B]) second() B { return p.Second }
func (ID) Valid() bool { return true }; func (i ID) Len() int { return len(i) }

func Map[T, U any](items []T, f func(T) U) []U {
	out := make([]U, 0, len(items))
	for _, item := range items {
		out = append(out, f(item))
	}
	return out
}

func curry(a int) func(int) func(int) int {
	return func(b int) func(int) int { return func(c int) int { return a + b + c } }
}

func assembly(x uint64) uint64

//go:linkname runtimeNow runtime.now
func runtimeNow() int64

func init() { log.Setup() }
func init() { registry["bike"] = nil }

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ferries/{id}", show)
	mux.Handle("/static/", http.FileServer(http.Dir("static")))
	http.HandleFunc("/sail", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "sailing")
	})
	return mux
}

func show(w http.ResponseWriter, r *http.Request) {}

func main() {
	if len(os.Args) > 1 {
		os.Exit(2)
	}
}
