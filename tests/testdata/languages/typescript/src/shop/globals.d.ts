/** Set by the build. */
declare const BUILD: string;
interface Config { readonly debug: boolean }
declare namespace Shop {
  function open(): void;
  namespace Inner { let depth: number; }
}
