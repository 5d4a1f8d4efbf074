/* app: what the app brings to the browser once, for all its pages. */

import { mendBrowsing } from "./components/browsing.js";
import { mendPrinting } from "./components/printing.js";
import * as widgets from "./widgets.js";

// A page's code may be run again after another page: what the widgets keep must stay theirs.
if (!window.attnvizCode) {
  mendBrowsing();
  mendPrinting();
  window.attnvizCode = widgets;
}
window.dispatchEvent(new CustomEvent("attnviz:code"));

export default () => {};
