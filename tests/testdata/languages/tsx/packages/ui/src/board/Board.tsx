"use client";
// A board of departures: function NotHere() {}
import React, { memo, useState, type ReactNode, forwardRef as forward } from "react";
import * as styles from "./board.module.css";
import Row, { type RowProps } from "./Row";
import type { Departure } from "@/types";
import "./side-effect.css";
const Map = React.lazy(() => import("./Map"));
const icons = require("./icons");

export type Kind = "bus" | "tram";
type Handlers = { [key: string]: (event: React.MouseEvent) => void };
interface BoardProps<T extends Departure = Departure> extends Omit<RowProps, "id"> {
  items: readonly T[];
  onPick?(item: T, index: number): void;
  children?: ReactNode;
  "aria-label"?: string;
  readonly [index: number]: string;
  (call: number): string;
  new (x: number): BoardProps;
}

export const enum Mode {
  Compact = 1,
  Wide = "wide".length,
}
export default enum_;
declare const enum_: unique symbol;
declare module "*.svg" {
  const url: string;
  export default url;
}
declare global {
  interface Window {
    board?: Board;
  }
}
namespace Layout.Inner {
  export const columns = 3;
  export function widthOf(n: number) { return n * columns; }
}

const text = `function inText() {} ${((x: number) => x)(1)}`;
export const LIMIT = 10, MINIMUM = 2;
const { first, second: renamed, ...rest } = icons;
let [head = 1, , tail] = [1, 2, 3];
export const BoardContext = React.createContext<Kind>("bus");

/** Shows rows. */
export function Board<T extends Departure>({ items, onPick, children }: BoardProps<T>) {
  const [open, setOpen] = useState<boolean>(false);
  const ref = React.useRef<HTMLDivElement>(null);
  const toggle = () => setOpen((was) => !was);
  async function refresh(): Promise<void> {
    await fetch("/departures");
  }
  React.useEffect(() => {
    const timer = setInterval(refresh, 1000);
    return () => clearInterval(timer);
  }, []);
  class Local { x = 1; }
  return (
    <section ref={ref} className={styles.board} onClick={toggle}>
      {/* function Commented() {} */}
      {open && items.map((item, index) => (
        <Row key={item.id} {...item} onPick={() => onPick?.(item, index)} render={(x) => <b>{x}</b>} />
      ))}
      <p>const NotAConst = 1; class NotAClass {"{}"}</p>
      <>{children}</>
      <Generic<string> value="function Attr() {}" />
    </section>
  );
}

export const Header = ({ title }: { title: string }) => <h1>{title}</h1>;
export const Footer: React.FC<{ year: number }> = ({ year }) => {
  const label = `© ${year}`;
  return <footer>{label}</footer>;
};
export const Fast = memo(function FastInner({ n }: { n: number }) { return <i>{n}</i>; });
const Input = forward<HTMLInputElement, { label: string }>(({ label }, ref) => <input ref={ref} aria-label={label} />);
Input.displayName = "Input";
Board.Row = Row;
const Button = styled.button<{ wide?: boolean }>`
  width: ${(props) => (props.wide ? "100%" : "auto")};
`;
export const withKind = <P extends object>(Inner: React.ComponentType<P>, kind: Kind) => {
  const Wrapped = (props: P) => <Inner {...props} kind={kind} />;
  return Wrapped;
};
const Generic = <T,>(props: { value: T }) => <span>{String(props.value)}</span>;

export abstract class Panel<P = {}, S = {}> extends React.Component<P, S> implements Closable {
  static defaultProps = { open: true };
  static #count = 0;
  state = { width: 1 } as S;
  private readonly timer?: number;
  declare context: React.ContextType<typeof BoardContext>;
  protected abstract label: string;
  accessor zoom = 1;
  #secret = () => 1;
  static { Panel.#count++; }

  constructor(props: P, private store: Map<string, number>, public name = "panel") {
    super(props);
  }

  handleClick = (event: React.MouseEvent) => { event.preventDefault(); };
  close = async () => {};
  get open() { return true; }
  set open(value: boolean) { this.#secret(); }
  abstract draw(): ReactNode;
  async *steps(): AsyncGenerator<number> { yield 1; }
  static from<T>(this: T, source: string): T;
  static from(source: unknown) { return source as never; }
  [Symbol.iterator]() { return [][Symbol.iterator](); }
  "quoted method"() {}
  componentDidMount(): void { const inside = 1; void inside; }
  @bound decorated() {}
  override render() {
    return <div>{this.draw()}</div>;
  }
}

export interface Closable { close(): Promise<void>; readonly open: boolean }
export function useBoard(kind: Kind): Departure[];
export function useBoard(kind: Kind, limit: number): Departure[];
export function useBoard(kind: Kind, limit = LIMIT) {
  return React.useMemo(() => [] as Departure[], [kind, limit]);
}
export function isBus(item: Departure): item is Departure & { kind: "bus" } { return item.kind === "bus"; }
function* ids() { yield 1; } function after() { return 2; }
export const handlers: Handlers = {
  click: (event) => event.preventDefault(),
  async load() {},
  get size() { return 1; },
  ["computed" + 1]() {},
  nested: { deep: function named() {} },
};
export { Header as Title, type Kind as BoardKind };
export * from "./Row";
export * as helpers from "./helpers";
export { default as Clock } from "../clock";
