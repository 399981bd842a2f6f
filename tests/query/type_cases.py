"""Small files in which a written type tells what a receiver is: (files, the method asked for, the lines that use it for certain).

Every file has a second type with a method of the same name, which is never meant, so that the name alone tells nothing.
"""

from typing import Final

CASES: Final[dict[str, tuple[dict[str, str], str, list[int]]]] = {}


def _case(name: str, path: str, target: str, text: str) -> None:
    """Adds a case; lines that end in `//!` or `#!` use the target."""
    lines = text.strip("\n").split("\n")
    wanted = [number for number, line in enumerate(lines, 1) if line.rstrip().endswith(("//!", "#!"))]
    CASES[name] = ({path: "\n".join(lines) + "\n"}, target, wanted)


_case(
    "python",
    "a.py",
    "Job.run",
    """
from typing import Self, cast
class Other:
    def run(self): ...
class Job:
    def run(self): ...
    def then(self) -> "Job": return self
    def named(self) -> Self: return self
    async def later(self) -> "Job": return self
    def __enter__(self) -> "Job": return self
    @property
    def parent(self) -> "Job": return self
    child: "Job"
class Holder:
    jobs: list[Job]
    by_name: dict[str, Job]
def make() -> Job: return Job()
def pair() -> tuple[Job, Other]: ...
def maybe() -> Job | None: ...
def all_jobs() -> list[Job]: ...
def first(jobs: list[Job], by: dict[str, Job], holder: Holder, thing: object):
    for job in jobs:
        job.run()  #!
    for job in all_jobs():
        job.run()  #!
    for name, job in by.items():
        job.run()  #!
    for index, job in enumerate(jobs):
        job.run()  #!
    for job in holder.jobs:
        job.run()  #!
    jobs[0].run()  #!
    by["a"].run()  #!
    holder.jobs[0].run()  #!
async def second(thing: object, other: Other):
    (await Job().later()).run()  #!
    x = await make().later()
    x.run()  #!
    with Job() as j:
        j.run()  #!
    with make() as k:
        k.run()  #!
    a, b = pair()
    a.run()  #!
    b.run()
    c = cast(Job, thing)
    c.run()  #!
    d = cast("Job", thing)
    d.run()  #!
    cast("list[Job]", thing)[0].run()  #!
    cast(Job, thing).run()  #!
    if isinstance(thing, Job):
        thing.run()  #!
    if (m := maybe()) is not None:
        m.run()  #!
    make().then().named().run()  #!
    make().parent.run()  #!
    make().child.run()  #!
    e = make() or other
    [z.run() for z in all_jobs()]  #!
    def inner(q: Job):
        q.run()  #!
""",
)
_case(
    "typescript",
    "a.ts",
    "Job.run",
    """
class Other { run() {} }
class Job {
  run() {}
  then2(): this { return this }
  named(): Job { return this }
  async later(): Promise<Job> { return this }
  child?: Job
  static make(): Job { return new Job() }
}
const build = (): Job => new Job()
const other = function (): Other { return new Other() }
const third = function (): Job { return new Job() }
function make(): Job { return new Job() }
async function fetchJob(): Promise<Job> { return make() }
function all(): Job[] { return [] }
function pair(): [Job, Other] { return null as any }
interface Holder { job: Job; jobs: Job[]; get(): Job; more: Array<Job>; by: Map<string, Job> }
async function run(jobs: Job[], holder: Holder, thing: unknown, by: Map<string, Job>, { job: inner }: Holder) {
  for (const job of jobs) {
    job.run() //!
  }
  for (const job of all()) job.run() //!
  for (const [key, job] of by) job.run() //!
  jobs.forEach((job) => job.run()) //!
  const names = jobs.map(job => job.run()) //!
  jobs[0].run() //!
  jobs[0]?.run() //!
  const first = all()[0]
  first.run() //!
  const x = await fetchJob()
  x.run() //!
  ;(await fetchJob()).run() //!
  holder.job?.run() //!
  holder.job!.run() //!
  holder?.get().run() //!
  holder.jobs[0].run() //!
  holder.by.get('a')?.run() //!
  const { job } = holder
  job.run() //!
  const { job: renamed } = holder
  renamed.run() //!
  inner.run() //!
  const [a, b] = pair()
  a.run() //!
  b.run()
  const c = thing as Job
  c.run() //!
  ;(thing as Job).run() //!
  if (thing instanceof Job) {
    thing.run() //!
  }
  make().then2().named().run() //!
  make()
    .then2()
    .run() //!
  build().run() //!
  other().run()
  third().run() //!
  Job.make().run() //!
  const d = make() ?? null
  d.run() //!
  const e: Job | undefined = undefined
  e?.run() //!
  const f = <Job>thing
  f.run() //!
  ;(<Job>thing).run() //!
  const type = make()
  type.run() //!
  const g = <T>(x: T) => other()
  g(thing).run()
}
""",
)
_case(
    "typescript, objects",
    "a.ts",
    "Store.getState",
    """
export interface Store { getState(): number; dispatch: (action: string) => void }
export interface Other { getState(): number }
export type Maker = { store: Store }
export function createStore(): Store {
  return { getState: () => 1, dispatch: () => {} }
}
const store = createStore()
store.getState() //!
const second: Store = { getState() { return 1 }, dispatch() {} }
second.getState() //!
function use(maker: Maker) {
  maker.store.getState() //!
  const { store } = maker
  store.getState() //!
}
function useStore<T>(): Store { return store }
export const App = () => {
  const mine = useStore<string>()
  return mine.getState() //!
}
class Holder {
  private readonly inner = createStore()
  constructor(private store: Store) {}
  run() {
    this.store.getState() //!
    this.inner.getState() //!
  }
}
""",
)
_case(
    "java",
    "A.java",
    "Job.run",
    """
import java.util.*;
class Other { void run() {} }
class Job {
  void run() {}
  Job then() { return this; }
  static Job make() { return new Job(); }
  static List<Job> all() { return null; }
  static Optional<Job> maybe() { return null; }
  Job child;
}
class Holder { Job job; List<Job> jobs; Map<String, Job> by; Job get() { return job; } }
class User {
  private final Holder holder = new Holder();
  void go(List<Job> jobs, Map<String, Job> by, Object thing, Job[] array) {
    for (Job job : jobs) job.run(); //!
    for (var job : jobs) job.run(); //!
    for (var job : Job.all()) job.run(); //!
    jobs.get(0).run(); //!
    by.get("a").run(); //!
    array[0].run(); //!
    var first = Job.all().get(0);
    first.run(); //!
    jobs.forEach(job -> job.run()); //!
    jobs.stream().forEach(job -> job.run()); //!
    Job.maybe().get().run(); //!
    ((Job) thing).run(); //!
    Job cast = (Job) thing;
    cast.run(); //!
    var other = (Job) thing;
    other.run(); //!
    if (thing instanceof Job job) job.run(); //!
    Job.make().then().run(); //!
    Job.make()
      .then()
      .run(); //!
    holder.get().then().run(); //!
    holder.job.run(); //!
    holder.jobs.get(0).run(); //!
    this.holder.job.child.run(); //!
    try (Job resource = Job.make()) { resource.run(); } //!
    new Job().then().run(); //!
  }
}
""",
)
_case(
    "csharp",
    "A.cs",
    "Job.Run",
    """
using System.Collections.Generic;
class Other { public void Run() {} }
class Job {
  public void Run() {}
  public Job Then() => this;
  public static Job Make() => new Job();
  public static List<Job> All() => null;
  public async Task<Job> Later() => this;
  public Job Child { get; set; }
}
class Holder { public Job Job { get; } public List<Job> Jobs; public Dictionary<string, Job> By; public Job Get() => Job; }
class User {
  private readonly Holder _holder = new();
  async Task Go(List<Job> jobs, Dictionary<string, Job> by, object thing, Job[] array, IEnumerable<Job> many) {
    foreach (var job in jobs) job.Run(); //!
    foreach (Job job in many) job.Run(); //!
    foreach (var job in Job.All()) { job.Run(); } //!
    jobs[0].Run(); //!
    by["a"].Run(); //!
    array[0].Run(); //!
    var x = await Job.Make().Later();
    x.Run(); //!
    (await Job.Make().Later()).Run(); //!
    ((Job)thing).Run(); //!
    var cast = (Job)thing;
    cast.Run(); //!
    var other = thing as Job;
    other?.Run(); //!
    (thing as Job).Run(); //!
    if (thing is Job job2) job2.Run(); //!
    Job.Make().Then().Run(); //!
    _holder.Get().Then().Run(); //!
    _holder.Job.Child?.Run(); //!
    _holder.Jobs[0].Run(); //!
    using var resource = Job.Make();
    resource.Run(); //!
    using (var second = Job.Make()) { second.Run(); } //!
    Job target = new();
    target.Run(); //!
    many.First().Run(); //!
  }
}
""",
)
_case(
    "kotlin",
    "A.kt",
    "Job.run",
    """
class Other { fun run() {} }
class Job {
  fun run() {}
  fun then(): Job = this
  val child: Job? = null
  companion object { fun make(): Job = Job() }
}
fun all(): List<Job> = listOf()
fun maybe(): Job? = null
class Holder(val job: Job, val jobs: List<Job>) { fun get(): Job = job }
fun go(jobs: List<Job>, by: Map<String, Job>, thing: Any, holder: Holder, out: Other) {
  val data = Job.make()
  data.run() //!
  out.run()
  for (job in jobs) job.run() //!
  for (job in all()) { job.run() } //!
  for ((name, job) in by) job.run() //!
  jobs.forEach { it.run() } //!
  jobs.forEach { job -> job.run() } //!
  jobs[0].run() //!
  jobs.first().run() //!
  by["a"]?.run() //!
  by["a"]!!.run() //!
  by.getValue("a").run() //!
  maybe()?.run() //!
  maybe()!!.run() //!
  (thing as Job).run() //!
  val cast = thing as Job
  cast.run() //!
  val safe = thing as? Job
  safe?.run() //!
  if (thing is Job) {
    thing.run() //!
  }
  Job.make().then().run() //!
  holder.get().then().run() //!
  holder.job.child?.run() //!
  holder.jobs[0].run() //!
  val x = maybe() ?: return
  x.run() //!
}
""",
)
_case(
    "go",
    "a.go",
    "Job.Run",
    """
package a
type Other struct{}
func (o Other) Run() {}
type Job struct{ Child *Job }
func (j *Job) Run() {}
func (j *Job) Then() *Job { return j }
type Holder struct { Jobs []*Job; By map[string]*Job; One Job }
func Make() (*Job, error) { return nil, nil }
func Pair() (Other, *Job) { return Other{}, nil }
func All() []*Job { return nil }
func Go(jobs []*Job, by map[string]Job, thing interface{}, holder *Holder, c chan *Job) {
	for _, job := range jobs {
		job.Run() //!
	}
	for _, job := range by {
		job.Run() //!
	}
	for _, job := range All() {
		job.Run() //!
	}
	for _, job := range holder.Jobs {
		job.Run() //!
	}
	jobs[0].Run() //!
	by["a"].Run() //!
	holder.Jobs[0].Run() //!
	holder.By["a"].Run() //!
	job, err := Make()
	job.Run() //!
	o, p := Pair()
	o.Run()
	p.Run() //!
	thing.(*Job).Run() //!
	cast, ok := thing.(*Job)
	cast.Run() //!
	x := <-c
	x.Run() //!
	job.Then().Then().Run() //!
	y := &Job{}
	y.Run() //!
	z := new(Job)
	z.Run() //!
	switch t := thing.(type) {
	case *Job:
		t.Run() //!
	}
	if k, ok := holder.By["a"]; ok {
		k.Run() //!
	}
	_, _ = err, ok
}
""",
)
_case(
    "rust",
    "src/lib.rs",
    "Job::run",
    """
pub struct Other;
impl Other { pub fn run(&self) {} }
pub struct Job { child: Option<Box<Job>> }
impl Job {
    pub fn run(&self) {}
    pub fn new() -> Self { Job { child: None } }
    pub fn then(self) -> Self { self }
    pub fn maybe() -> Option<Job> { None }
    pub fn result() -> Result<Job, ()> { Err(()) }
    pub async fn later() -> Job { Job::new() }
}
pub fn all() -> Vec<Job> { vec![] }
pub struct Holder { jobs: Vec<Job>, one: Job }
pub async fn go(jobs: &[Job], more: Vec<Job>, holder: &Holder) -> Result<(), ()> {
    for job in jobs {
        job.run(); //!
    }
    for job in more.iter() {
        job.run(); //!
    }
    for job in &holder.jobs {
        job.run(); //!
    }
    for job in all() {
        job.run(); //!
    }
    jobs[0].run(); //!
    holder.jobs[0].run(); //!
    holder.one.run(); //!
    Job::new().then().run(); //!
    Job::maybe().unwrap().run(); //!
    let a = Job::maybe().unwrap();
    a.run(); //!
    let b = Job::result()?;
    b.run(); //!
    Job::result()?.run(); //!
    if let Some(c) = Job::maybe() {
        c.run(); //!
    }
    let Some(d) = Job::maybe() else { return Ok(()) };
    d.run(); //!
    Job::later().await.run(); //!
    let e = Job::later().await;
    e.run(); //!
    let (f, g): (Job, Other) = todo!();
    f.run(); //!
    g.run();
    more.iter().for_each(|job| job.run()); //!
    more.first().unwrap().run(); //!
    match Job::maybe() { Some(h) => h.run(), None => {} } //!
    Ok(())
}
""",
)
_case(
    "php",
    "a.php",
    "Job::run",
    """
<?php
class Other { function run() {} }
class Job {
  function run() {}
  function then(): static { return $this; }
  function named(): self { return $this; }
  static function make(): Job { return new Job(); }
  public ?Job $child;
}
class Holder {
  private Job $job;
  function __construct(private Job $promoted) {}
  function get(): Job { return $this->job; }
  function go() {
    $this->job->run(); //!
    $this->promoted->run(); //!
    $this->get()->run(); //!
    $this->job->child?->run(); //!
  }
}
function make(): ?Job { return null; }
function go(Holder $holder, $thing) {
  $a = Job::make();
  $a->run(); //!
  Job::make()->then()->named()->run(); //!
  (new Job())->run(); //!
  $b = new Job;
  $b->run(); //!
  make()?->run(); //!
  $holder->get()->then()->run(); //!
  if ($thing instanceof Job) {
    $thing->run(); //!
  }
}
""",
)
_case(
    "cpp",
    "a.cc",
    "Job::run",
    """
#include <vector>
struct Other { void run(); };
struct Job {
  void run();
  Job& then();
  static Job make();
  Job* child;
};
struct Holder { Job job; Job many[3]; std::vector<Job> jobs; std::unique_ptr<Job> owned; Job* get(); };
std::vector<Job> all();
void go(std::vector<Job>& jobs, Holder& holder, void* thing, Job array[]) {
  for (Job& job : jobs) job.run(); //!
  for (auto& job : jobs) job.run(); //!
  for (const auto& job : all()) { job.run(); } //!
  jobs[0].run(); //!
  jobs.front().run(); //!
  array[0].run(); //!
  Job local[4];
  local[1].run(); //!
  holder.many[2].run(); //!
  holder.jobs[0].run(); //!
  holder.owned->run(); //!
  holder.get()->then().run(); //!
  Job::make().then().run(); //!
  auto a = Job::make();
  a.run(); //!
  auto* b = static_cast<Job*>(thing);
  b->run(); //!
  static_cast<Job*>(thing)->run(); //!
  auto c = std::make_unique<Job>();
  c->run(); //!
  auto d = new Job();
  d->run(); //!
  ((Job*)thing)->run(); //!
  holder.job.child->run(); //!
}
""",
)
_case(
    "swift",
    "a.swift",
    "Job.run",
    """
class Other { func run() {} }
class Job {
  func run() {}
  func then() -> Self { return self }
  static func make() -> Job { return Job() }
  var child: Job?
}
func all() -> [Job] { return [] }
func maybe() -> Job? { return nil }
func go(jobs: [Job], by: [String: Job], thing: Any) {
  for job in jobs { job.run() } //!
  for job in all() { job.run() } //!
  for (name, job) in by { job.run() } //!
  jobs[0].run() //!
  by["a"]?.run() //!
  maybe()?.run() //!
  maybe()!.run() //!
  (thing as! Job).run() //!
  if let cast = thing as? Job { cast.run() } //!
  if let job = maybe() { job.run() } //!
  guard let other = maybe() else { return }
  other.run() //!
  Job.make().then().run() //!
  jobs.forEach { $0.run() } //!
  jobs.first?.run() //!
  let a = Job.make()
  a.child?.run() //!
}
""",
)
_case(
    "scala",
    "A.scala",
    "Job.run",
    """
class Other { def run(): Unit = {} }
class Job {
  def run(): Unit = {}
  def next: Job = this
  def then2(): Job = this
}
object Job { def make(): Job = new Job() }
class Holder(val job: Job, val jobs: List[Job])
object User {
  def all(): List[Job] = Nil
  def go(jobs: List[Job], holder: Holder, thing: Any): Unit = {
    for (job <- jobs) job.run() //!
    for (job <- all()) { job.run() } //!
    jobs.foreach(job => job.run()) //!
    jobs(0).run() //!
    jobs.head.run() //!
    holder.job.run() //!
    Job.make().then2().run() //!
    val a = Job.make().next
    a.run() //!
    thing.asInstanceOf[Job].run() //!
    thing match { case j: Job => j.run() } //!
    val each = (job: Job, other: Other) => job.run() //!
    val last = (other: Other) => other.run()
  }
}
""",
)
_case(
    "ruby",
    "a.rb",
    "Job#run",
    """
class Other
  def run; end
end
class Job
  def run; end
  def then; self; end
end
job = Job.new
class Holder
  def initialize
    @job = Job.new
  end
  def go
    @job.run #!
    one = Job.new
    one.run #!
    Job.new.run #!
  end
end
""",
)
