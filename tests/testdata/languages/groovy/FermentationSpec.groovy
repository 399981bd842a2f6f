#!/usr/bin/env groovy
/*
 * Watches barrels. class Commented { def no() {} }
 */
@Grab('org.spockframework:spock-core:2.3-groovy-4.0')
@Grab(group = 'org.apache.commons', module = 'commons-math3', version = '3.6')
package cellar.fermentation

import static java.lang.Math.*
import static org.junit.Assert.assertEquals as same
import groovy.transform.*
import java.time.Duration as Span
import spock.lang.Specification
import spock.lang.Unroll

/** The yeast in a barrel. */
@CompileStatic
enum Yeast implements Named {
    ALE(18, 'top') {
        @Override
        String describe() { "top: ${name()}" }
    },
    LAGER(9, 'bottom'),
    WILD(20)

    final int degrees
    private final String layer

    Yeast(int degrees, String layer = 'any') {
        this.degrees = degrees
        this.layer = layer
    }

    String describe() { layer }

    static Yeast parse(String text) {
        values().find { it.name().equalsIgnoreCase(text) } ?: WILD
    }
}

interface Named {
    String DEFAULT_NAME = 'nobody'
    String getName()
    default String shout() { name.toUpperCase() }
}

trait Logged {
    private List<String> lines = []
    void log(String line) { lines << line }
    abstract String prefix()
}

@interface Recipe {
    String value() default ''
    Class<? extends Exception>[] failing() default []
}

@Canonical
@ToString(includeNames = true, excludes = ['notes'])
abstract class Barrel<T extends Comparable<T>> extends Vessel implements Named, Serializable {
    static final long serialVersionUID = 1L
    static final Map<String, List<Integer>> LIMITS = [ale: [10, 22], lager: [4, 12]]
    String name
    T reading
    def notes = [], tags = [:]
    protected BigDecimal gravity = 1.050G
    private final Closure<Boolean> isReady = { Barrel b -> b.gravity < 1.010 }
    @Delegate private final List<T> history = []
    @Lazy
    volatile Span age = Span.ofDays(3)

    Barrel() {}

    Barrel(String name, Closure configure) {
        this.name = name
        configure.delegate = this
        configure()
    }

    abstract T measure()

    @Override
    @CompileDynamic
    def <R> R with(Map<String, ?> options = [:],
                   @DelegatesTo(Barrel) Closure<R> body) throws IOException {
        def inner = { x -> x * 2 }
        def (low, high) = LIMITS[options.kind as String]
        switch (reading) {
            case low..high: return body(inner(1))
            case ~/\d+ class Fake \{/: break
            case { it > 3 }: log "closure"
        }
        reading?.with { println "def fake() { $it }" }
        null
    }

    Barrel plus(Barrel other) { this }
    def getAt(int i) { history[i] }
    boolean asBoolean() { !history.empty }
    def "method with spaces"() { true }

    protected static synchronized void reset() {
        LIMITS.each { key, value -> println key }
    }

    def propertyMissing(String name) { tags[name] }
    def methodMissing(String name, args) {
        "$name(${args.join(', ')})"
    }

    static class Tap {
        boolean open
        void turn() { open = !open }

        enum State { OPEN, CLOSED }
    }

    class Lid {
        def lift() { Barrel.this.name }
    }
}

record Sample(String barrel, double gravity) {
    Sample {
        assert gravity > 0
    }
    double plato() { (gravity - 1) * 250 }
}

@TupleConstructor
final class Oak extends Barrel<Integer> implements Logged {
    int measure() { 3 }
    String prefix() { 'oak' }
}

class FermentationSpec extends Specification {
    @Shared yeast = Yeast.ALE
    def barrel = Mock(Oak)

    def setup() {
        barrel.measure() >> 5
    }

    def "a barrel is measured once"() {
        given:
        def oak = new Oak()

        when: "the barrel is read"
        def reading = oak.measure()

        then:
        reading == 3
        1 * barrel.log(_)
    }

    @Unroll
    def 'yeast #name likes #degrees degrees'(String name, int degrees) {
        expect:
        Yeast.parse(name).degrees == degrees

        where:
        name    || degrees
        'ale'   || 18
        'lager' || 9
    }

    @Test
    void plainTest() { same(1, 1) }
}

String text = """
class NotAClass {
    def notAMethod() {}
}
"""
def slashy = /class Slashy { def x() {} }/
def dollar = $/
  def inDollar() { $$ }
/$

int fahrenheit(int celsius) {
    celsius * 9 / 5 + 32
}

def report(Barrel barrel, Closure render = { it.toString() }) {
    render(barrel)
}

private static void warn(String message) { System.err.println message }

def double_it = { int x -> x * 2 }
@Field final int answer = 42
final threshold = 1.02

barrels = [new Oak(name: 'one'), new Oak(name: 'two')]
barrels.findAll { it.gravity > threshold }
       .collect { b ->
           report(b) { "${it.name}" }
       }
       .each this.&println

['a', 'b'].eachWithIndex { String s, int i -> println "$i: $s" }

static main(args) {
    println 'started'
}
