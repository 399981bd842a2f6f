#!/usr/bin/env dart
// Copyright 2026 the seismograph authors.
// ignore_for_file: prefer_single_quotes, class Fake {}

/// Reads the traces of seismographs and picks the arrivals of waves.
@TestOn('vm')
library;

import 'dart:collection' show UnmodifiableListView;
import 'dart:io' if (dart.library.html) 'dart:html' as io hide File;
import 'package:flutter/material.dart'
    show BuildContext, State, StatefulWidget, StatelessWidget, Text, Widget;
import 'station.dart' deferred as station;

export 'package:seismograph/src/codec.dart' show Codec, decodeTrace;
export 'filters/filters.dart';

typedef Sample = ({double seconds, double metres});
typedef Json = Map<String, dynamic>;
typedef int Compare<T extends Object>(T left, T right);

/// The speed of the primary wave, in km/s.
@Deprecated('use Crust.speed, which knows the depth; class Crust {}')
const primarySpeed = 6.0;

final Map<String, List<Sample>> _traces =
    <String, List<Sample>>{};

late final String homePath;

external int nativeClock();

const help = '''
class NotAClass {
  void notAMethod() {}
}
''';

/* A block comment:
   class AlsoNot extends Object { int no() => 1; }
   /* nested */ void stillNot() {}
*/

@pragma('vm:entry-point')
sealed class Wave<T extends num, U> implements Comparable<Wave<T, U>> {
  const Wave._(this.arrival, {required this.amplitude, U? tag}) : _tag = tag;

  const factory Wave.primary(T arrival, {required double amplitude}) = Primary<T, U>;

  factory Wave.parse(String line) {
    final [kind, at, ...rest] = line.split(',');
    return switch (kind) {
      'P' => Primary(num.parse(at) as T, amplitude: double.parse(rest.first)),
      'S' when rest.length > 1 => Secondary(num.parse(at) as T, amplitude: 0.5),
      _ => throw FormatException("no wave: ${line.isEmpty ? 'class Empty {}' : line}"),
    };
  }

  final T arrival;
  final double amplitude;
  final U? _tag;
  static int _count = 0, total = 0;
  late List<Sample> samples;
  double? depth, distance;
  covariant late Object owner;
  static const Map<String, (int, int)> windows = {
    'short': (1, 30),
    'long': (30, 600),
  };

  static int get count => _count;
  static set count(int value) => _count = value;

  U? get tag => _tag;

  bool operator <(Wave<T, U> other) => compareTo(other) < 0;
  Sample operator [](int index) => samples[index];
  void operator []=(int index, Sample value) {
    samples[index] = value;
  }
  Wave<T, U> operator -() => this;

  @override
  int compareTo(Wave<T, U> other) => arrival.compareTo(other.arrival);

  Future<Map<String, List<R>>> grouped<R extends Object?>(
    R Function(Sample sample) read, {
    required String Function(R) key,
    int limit = 10,
  }) async {
    final result = <String, List<R>>{};
    void put(R value) {
      result.putIfAbsent(key(value), () => []).add(value);
    }

    await for (final each in stream()) {
      put(read(each));
    }
    return result;
  }

  Stream<Sample> stream() async* {
    yield* Stream.fromIterable(samples);
  }

  Iterable<int> indices() sync* {
    for (var i = 0; i < samples.length; i++) {
      yield i;
    }
  }

  (double, double) bounds({bool strict = false});

  external void release();
}

final class Primary<T extends num, U> extends Wave<T, U> {
  const Primary(super.arrival, {required super.amplitude}) : super._();

  @override
  (double, double) bounds({bool strict = false}) => (0, strict ? 1 : 2);
}

base class Secondary<T extends num, U> = Primary<T, U> with Shear;

mixin class Shear {
  double shear = 0;
}

base mixin Logged on Wave<num, Object> {
  void log(String message) => io.stderr.writeln('$message at ${arrival}');
}

abstract base class Filter {
  Filter();
  Filter.of(double low, double high) : this();
  String get name;
  List<double> apply(List<double> values);
}

enum Band<T> with Named {
  low<int>(1, unit: 'Hz'),
  high<double>(20.5, unit: 'Hz'),
  ;

  const Band(this.edge, {required this.unit});
  factory Band.of(T edge) => values.first as Band<T>;
  final T edge;
  final String unit;

  static Band<num>? tryParse(String text) => null;
}

extension on String {
  bool get isStation => length <= 5;
}

extension NullableSamples<T extends Sample> on List<T>? {
  T? get loudest => this == null ? null : this!.first;
  static final cache = <int>[];
}

extension type const Decibel._(double value) implements double {
  Decibel(this.value);
  Decibel.ofRatio(double ratio) : this._(10 * ratio);
  Decibel operator +(Decibel other) => Decibel(value + other.value);
  static const Decibel silence = Decibel._(0);
}

class TraceView extends StatefulWidget {
  const TraceView({super.key, required this.station, this.onPick});

  final String station;
  final void Function(Sample sample, {bool byHand})? onPick;

  @override
  State<TraceView> createState() => _TraceViewState();
}

class _TraceViewState extends State<TraceView>
    with SingleTickerProviderStateMixin<TraceView>, Logged {
  var _zoom = 1.0;

  @override
  void initState() {
    super.initState();
    station.loadLibrary().then((_) => setState(() {
          _zoom = 2;
        }));
  }

  @override
  Widget build(BuildContext context) {
    return GestureDetector(
      onTap: () => widget.onPick?.call((seconds: 0, metres: _zoom)),
      child: Text('class ${widget.station} {'),
    );
  }
}

set homeOf(String path) => homePath = path;

R retry<R>(R Function() action, {int times = 3}) {
  try {
    return action();
  } on FormatException catch (e, s) {
    io.stderr.writeln('$e $s');
    rethrow;
  }
}

void main() {
  group('Band', () {
    late Band<num> band;
    setUp(() => band = Band.low);

    test('has an edge', () {
      expect(band.edge, 1);
    });
    testWidgets("shows a trace", (tester) async {
      await tester.pumpWidget(const TraceView(station: 'ABC'));
    });
  });
}
