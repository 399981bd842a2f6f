package org.parcels

import groovy.transform.CompileStatic
import groovy.json.JsonSlurper as Slurper
import static java.lang.Math.max
import org.parcels.routes.*

/** How a parcel is sent. */
enum Service {
    NORMAL, EXPRESS

    int days() {
        this == EXPRESS ? 1 : 3
    }
}

interface Weighed {
    BigDecimal getWeight()
}

trait Tracked {
    List<String> places = []

    void seen(String place) {
        places << place
    }
}

@CompileStatic
class Parcel implements Weighed, Tracked {
    static final int LIMIT = 31
    String code
    BigDecimal weight = 1.0
    private Service service = Service.NORMAL

    Parcel(String code) {
        this.code = code
    }

    // The price in cents.
    def price(Map<String, Integer> zones = [:], String zone) {
        def base = zones[zone] ?: 490
        if (weight > LIMIT) {
            throw new IllegalStateException("too heavy: ${weight} kg")
        }
        base + surcharge(weight)
    }

    private static int surcharge(BigDecimal weight) {
        return max(0, (weight - 2).intValue()) * 50
    }

    @Override
    String toString() {
        "Parcel($code) // not a comment"
    }

    static class Builder {
        String code

        Parcel build() {
            new Parcel(code)
        }
    }
}

abstract class Depot<T extends Weighed> {
    protected final List<T> shelf = []

    abstract boolean accepts(T thing)

    T take(Closure<Boolean> wanted) {
        def found = shelf.find(wanted)
        shelf.remove(found)
        return found
    }

    BigDecimal total() {
        shelf.sum { it.weight } as BigDecimal
    }
}

def readParcels(File file) {
    def slurper = new Slurper()
    slurper.parse(file).collect { row ->
        new Parcel(row.code as String)
    }
}

def report = { List<Parcel> parcels ->
    parcels.each { println it.price('A') }
}

report(readParcels(new File(args[0])))
