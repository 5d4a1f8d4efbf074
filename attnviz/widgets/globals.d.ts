/* What is not in a module of ours, but known to our scripts. */

declare module "*.css" {
  const text: string;
  export default text;
}

interface Window {
  /** What the stores keep: see store.js. Tests and the console read it. */
  attnviz: Map<string, import("./store.js").ArraySet>;
  /** The app's widgets by name, for stub.js. */
  attnvizCode: { [name: string]: any };
}

/** A row or a column of a picture: widgets/tokens.py. */
interface ShownToken {
  label: string;
  name: string;
  title: string;
  special: boolean;
  number?: number;
  /** What must be said of the row's numbers: faint.js. */
  aside?: string;
}
