/// Keeps the volunteers of a festival and the shifts that they take.
library roster;

import 'dart:async';
import 'dart:convert' show jsonDecode, jsonEncode;

import 'package:meta/meta.dart';
import 'package:festival/src/clock.dart' as clock;
import '../storage/store.dart';

export 'shift_rules.dart' hide InternalRule;

part 'roster.g.dart';

/// Called whenever the roster changes.
typedef RosterListener = void Function(RosterEvent event);

typedef Predicate<T> = bool Function(T value);

/// The most shifts that one volunteer may take.
const int maxShifts = 6;

const defaultPlace = 'gate', fallbackPlace = 'tent';

final RegExp _mail = RegExp(r'^[^@]+@[^@]+$');

var _created = 0;

late final Store sharedStore;

/// What a volunteer can do.
enum Skill { gate, bar, stage, firstAid }

/// How far a shift has come.
enum Progress implements Comparable<Progress> {
  planned(0, 'planned'),
  running(1, 'now'),
  // Ended, whatever the reason.
  over(2, 'over');

  const Progress(this.order, this.label);

  final int order;
  final String label;

  bool get isOpen => this != Progress.over;

  @override
  int compareTo(Progress other) => order - other.order;
}

sealed class RosterEvent {
  const RosterEvent(this.at);
  final DateTime at;
}

class ShiftTaken extends RosterEvent {
  const ShiftTaken(super.at, this.shift, this.by);

  final Shift shift;
  final Volunteer by;
}

final class ShiftDropped extends RosterEvent {
  const ShiftDropped(super.at, this.shift, {required this.reason});
  final Shift shift;
  final String reason;
}

/// Somebody who helps.
@immutable
class Volunteer with Named implements Comparable<Volunteer> {
  Volunteer(this.name, this.mail, {Set<Skill>? skills}) : skills = skills ?? const {} {
    _created++;
  }

  /// Somebody of whom only the name is known.
  Volunteer.unknown(String name) : this(name, '');

  factory Volunteer.fromJson(Map<String, Object?> json) {
    final name = json['name'] as String;
    final skills = (json['skills'] as List).map(_skillOf).toSet();
    return Volunteer(name, json['mail'] as String, skills: skills);
  }

  @override
  final String name;
  final String mail;
  final Set<Skill> skills;

  static final Map<String, Volunteer> _known = {};

  static Volunteer named(String name) => _known.putIfAbsent(name, () => Volunteer.unknown(name));

  bool get canBeReached => _mail.hasMatch(mail);

  bool can(Skill skill) => skills.contains(skill);

  @override
  int compareTo(Volunteer other) => name.compareTo(other.name);

  @override
  bool operator ==(Object other) => other is Volunteer && other.mail == mail;

  @override
  int get hashCode => mail.hashCode;

  Map<String, Object?> toJson() => {
        'name': name,
        'mail': mail,
        'skills': [for (final skill in skills) skill.name],
      };
}

/// A span of hours at one place.
class Shift {
  Shift({required this.place, required this.from, required this.hours, this.needs});

  final String place;
  final DateTime from;
  final int hours;
  final Skill? needs;
  Volunteer? _takenBy;
  Progress progress = Progress.planned;

  DateTime get until => from.add(Duration(hours: hours));

  Volunteer? get takenBy => _takenBy;

  set takenBy(Volunteer? volunteer) {
    if (volunteer != null && needs != null && !volunteer.can(needs!)) {
      throw RosterException('${volunteer.name} cannot do $needs', shift: this);
    }
    _takenBy = volunteer;
  }

  bool overlaps(Shift other) => from.isBefore(other.until) && other.from.isBefore(until);
}

mixin Named {
  String get name;

  String get initials => name.split(' ').map((part) => part[0]).join();
}

mixin Paged<T> on Iterable<T> {
  Iterable<T> page(int number, {int size = 20}) => skip(number * size).take(size);
}

class RosterException implements Exception {
  RosterException(this.message, {this.shift});

  final String message;
  final Shift? shift;

  @override
  String toString() => 'RosterException: $message';
}

/// The plan of one festival.
class Roster extends Iterable<Shift> with Paged<Shift> {
  Roster(this._store, {clock.Clock? time}) : _time = time ?? const clock.SystemClock();

  final Store _store;
  final clock.Clock _time;
  final List<Shift> _shifts = [];
  final _events = StreamController<RosterEvent>.broadcast();
  static const String _key = "roster";

  Stream<RosterEvent> get events => _events.stream;

  @override
  Iterator<Shift> get iterator => _shifts.iterator;

  /// Reads what was stored; an empty store is an empty roster.
  Future<void> load() async {
    final text = await _store.read(_key);
    if (text == null) return;
    Shift shiftOf(Map<String, Object?> json) {
      return Shift(place: json['place'] as String, from: _time.now(), hours: json['hours'] as int);
    }

    for (final json in jsonDecode(text) as List) {
      _shifts.add(shiftOf(json as Map<String, Object?>));
    }
  }

  Future<void> save() => _store.write(_key, jsonEncode([for (final shift in _shifts) shift.place]));

  void take(Shift shift, Volunteer volunteer) {
    final own = _shifts.where((other) => other.takenBy == volunteer);
    if (own.length >= maxShifts || own.any(shift.overlaps)) {
      throw RosterException('too much for ${volunteer.name}', shift: shift);
    }
    shift.takenBy = volunteer;
    _events.add(ShiftTaken(_time.now(), shift, volunteer));
  }

  Shift operator +(Shift shift) {
    _shifts.add(shift);
    return shift;
  }

  external int checksum();

  @visibleForTesting
  void clear() => _shifts.clear();
}

extension Totals on Iterable<Shift> {
  int get hours => fold(0, (sum, shift) => sum + shift.hours);

  Map<String, List<Shift>> byPlace() {
    final found = <String, List<Shift>>{};
    for (final shift in this) {
      (found[shift.place] ??= []).add(shift);
    }
    return found;
  }
}

extension type ShiftId(int value) {
  bool get isValid => value > 0;
}

abstract interface class Rule {
  String get title;
  bool allows(Shift shift, Volunteer volunteer);
}

Skill _skillOf(Object? text) => Skill.values.byName(text as String);

int get createdVolunteers => _created;

Future<Roster> openRoster(Store store, {RosterListener? listener}) async {
  final roster = Roster(store);
  await roster.load();
  if (listener != null) roster.events.listen(listener);
  return roster;
}

void main(List<String> arguments) async {
  final roster = await openRoster(sharedStore, listener: (event) => print(event.at));
  String line(Shift shift) => '${shift.place}: ${shift.takenBy?.initials ?? '-'}';
  // Prints "place: initials" for each shift.
  roster.map(line).forEach(print);
}
