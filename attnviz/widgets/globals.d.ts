/* Types of globals, and of imported style sheets. */

declare module "*.css" {
  const text: string;
  export default text;
}

interface Window {
  /** The arrays of all stores (store.js), also for tests and the console. */
  attnviz: Map<string, import("./store.js").ArraySet>;
  /** The app's widgets by name, for stub.js. */
  attnvizCode: { [name: string]: any };
}

/** A row or a column of a picture, as in widgets/tokens.py. */
interface ShownToken {
  label: string;
  name: string;
  title: string;
  special: boolean;
  number?: number;
  /** A note on the row's numbers, from faint.js. */
  rowNote?: string;
}
