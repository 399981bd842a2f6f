package org.example.shop;

import java.util.List;
import java.util.function.*;
import static java.lang.Math.max;
import static org.example.Money.*;
import Standalone;

/**
 * What a customer is about to buy.
 *
 * @param <T> the goods
 */
@Entity(name = "basket")
@SuppressWarnings({
    "unchecked",
    "rawtypes",
})
public abstract class Basket<T extends Goods & Cloneable> extends Container<T> implements Closeable, Iterable<T> {

  /** The most lines. */
  public static final int MAX_LINES = 40, MIN_LINES[] = {1, 2};
  private final List<T> lines; // trailing comment
  @Inject
  protected Clock clock = new Clock() {
    private int ticks;

    @Override
    public long now() { return ticks++; }
  };
  volatile boolean open;
  static final Runnable WARM_UP = () -> {
    class Heater { void heat() {} }
  };

  static {
    int notAField = 1;
    Runnable once = new Runnable() { public void run() { } };
  }

  /** Makes an empty basket. */
  protected Basket(
      List<T> lines,
      @Nullable Clock clock) throws IOException {
    this.lines = lines;
    var notASymbol = 1;
  }

  <S> Basket() { this(null, null); }

  @Override
  @Deprecated
  public Iterator<T> iterator() {
    for (T line : lines) {
      enum Mode { FAST, SLOW }
    }
    lines.forEach(line -> {
      interface Visitor { void visit(); }
    });
    return new Iterator<>() {
      @Override
      public boolean hasNext() { return false; }

      @Override public T next() { return null; }
    };
  }

  abstract int total(int... prices);

  public native synchronized void lock();

  private static String
  label(String name) {
    return name;
  }

  /** How it goes on. */
  enum State implements Supplier<String> {
    /** Filling. */
    OPEN("open") {
      @Override
      public String get() { return "o"; }
    },
    @Deprecated CLOSED,
    PAID;

    private final String label;

    State(String label) { this.label = label; }

    public String get() { return label; }
  }

  /** One line. */
  public record Line(@NotNull String sku, int... counts) implements Comparable<Line> {
    static int made;

    public Line {
      made++;
    }

    Line(String sku) { this(sku, 1); }

    public int compareTo(Line other) { return 0; }
  }

  @interface Tracked {
    String value() default "all";

    int LEVEL = 1;
  }

  public interface Listener<E> extends EventListener {
    int PRIORITY = 5;

    void changed(E event);

    default void closed() {}

    private void log() {}

    static Listener<?> none() { return null; }

    class Adapter implements Listener<Object> {
      public void changed(Object event) {}
    }
  }

  sealed interface Shape permits Circle {}

  static final class Broken {
    int before;

    void unfinished() {
      int x = = 1
    }

    void stillFound() {}
  }
}

class Helper {
  String größe;
}
