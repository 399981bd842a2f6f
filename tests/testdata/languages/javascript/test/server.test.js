describe("a server", () => {
  const helper = function build() {
    return 1;
  };

  it("answers", async () => {
    expect(helper()).toBe(1);
  });

  it.skip('says "no" to a client\'s request', function () {});

  describe.only("with TLS", { timeout: 10 }, () => {
    test.each([[1, 2]])("adds %i", (a, b) => {
      expect(a + b).toBe(3);
    });
    test.each`
      a    | b
      ${1} | ${2}
    `(`of a table`, ({ a, b }) => {});
    it(
      "begins on a line of its own",
      () => {},
    );
  });

  // Not tests: computed titles, no block, no statement, a comment, other calls.
  it(`works with ${helper}`, () => {});
  it(name, () => {});
  it("is still to be written");
  describe(Server, () => {
    it("is inside of one without a title", () => {});
  });
  const result = it("is a value", () => 1);
  call(
    it("is an argument", () => 1),
  );
  /*
  it("is commented out", () => {});
  */
  pattern.test("text", () => {});
});

QUnit.module("queue", () => {
  QUnit.test("pops", (assert) => {});
});

await test("at the top", async (t) => {
  await t.test("a step", () => {});
});
