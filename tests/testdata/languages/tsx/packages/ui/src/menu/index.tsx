import React, { useState, type ReactNode } from 'react';
import styles from './menu.module.css';

/** What a menu shows. */
export interface MenuProps<T> {
  items: T[];
  onSelect?: (item: T) => void;
  children?: ReactNode;
}

type Direction = 'left' | 'right';

const DEFAULTS: Partial<MenuProps<string>> = { items: [] };

/** A menu. */
export function Menu<T extends string>({ items, onSelect }: MenuProps<T>): JSX.Element {
  const [open, setOpen] = useState(false);
  const toggle = () => setOpen((value) => !value);
  function handleKey(event: React.KeyboardEvent) {
    if (event.key === 'Escape') toggle();
  }

  return (
    <ul className={styles.menu} onKeyDown={handleKey} onClick={() => toggle()}>
      {items.map((item) => (
        <li key={item} onClick={() => onSelect?.(item)}>
          {item}
        </li>
      ))}
    </ul>
  );
}

export const Item = React.memo(function Item({ label }: { label: string }) {
  return <li>{label}</li>;
});

const Separator: React.FC = () => <hr />;

export const Panel = React.forwardRef<HTMLDivElement, { side: Direction }>((props, ref) => {
  const close = async () => {};
  return <div ref={ref} onClick={close} />;
});

class Boundary extends React.Component<{ children: ReactNode }, { failed: boolean }> {
  state = { failed: false };

  static getDerivedStateFromError = () => ({ failed: true });

  render() {
    const generic = <T,>(value: T) => value;
    return this.state.failed ? <Separator /> : <>{this.props.children}</>;
  }
}

export const LazyPanel = React.lazy(() => import('./panel'));

export enum Size { Small = 's', Large = 'l' }

export default Boundary;
