import { describe, expect, it } from "vitest";

interface Fixture {
  total: number;
}

describe("orders", () => {
  it<Fixture>("keeps a typed fixture", ({ total }) => {
    expect(total satisfies number).toBe(0);
  });

  it.concurrent("runs beside others", async () => {
    class Local {}
  });

  describe.skipIf(process.env.CI)("outside of CI", () => {
    it.runIf(true)("only if so", () => {});
    bench("sorts", () => {}, { time: 10 });
  });
});
