/// Orbits of small bodies.
module space.orbits;

import std.stdio;
import std.math : sqrt, PI;
import std.algorithm, std.range : iota;
import clock = space.time;
public import space.units;

enum double G = 6.674e-11;
enum maxSteps = 1000, minSteps = 10;
immutable string catalogue = "bodies.csv";
private int created;
alias Metres = double;
alias Callback = void delegate(ref Body);

/// A thing with a mass.
interface Massive {
    double mass() const;
}

struct Vector {
    double x = 0, y = 0;

    this(double x, double y) {
        this.x = x;
        this.y = y;
    }

    Vector opBinary(string op : "+")(Vector other) const {
        return Vector(x + other.x, y + other.y);
    }

    @property double length() const pure nothrow {
        return sqrt(x * x + y * y);
    }

    ~this() {}
}

union Word {
    uint number;
    ubyte[4] bytes;
}

enum Kind { asteroid, comet = 4, moon }

abstract class Body : Massive {
    protected Vector position;
    private double weight;
    static int count;

    this(double weight) {
        this.weight = weight;
        created++;
    }

    double mass() const { return weight; }
    abstract Kind kind();

    final void move(Vector by) {
        position = position + by;
    }

    class Trail {
        Vector[] points;
        void add(Vector point) { points ~= point; }
    }
}

class Comet : Body {
    double tail;

    this() { super(1e12); }

    override Kind kind() { return Kind.comet; }
}

template Larger(T) {
    T larger(T a, T b) { return a > b ? a : b; }
}

// The force between two bodies.
double force(const Body a, const Body b, Metres distance) {
    double square(double n) { return n * n; }
    return G * a.mass * b.mass / square(distance);
}

T clampTo(T)(T value, T low, T high) if (is(T : double)) {
    return value < low ? low : value > high ? high : value;
}

auto period(Metres radius, double mass) {
    return 2 * PI * sqrt(radius ^^ 3 / (G * mass));
}

version (Windows) {
    void beep() {}
} else {
    void beep() { write("\a"); }
}

/+ void commentedOut() { force(null, null, 1); /+ nested +/ } +/

unittest {
    assert(clampTo(5, 1, 3) == 3);
}

void main(string[] args) {
    auto comet = new Comet;
    foreach (i; iota(maxSteps)) {
        comet.move(Vector(i, 0));
    }
    writeln(`raw force(` ~ catalogue, " void notCode()", period(1.0, comet.mass));
    writeln(Larger!int.larger(1, 2));
}
