/* app: what the app brings to the browser once, for all its pages. */

import { room } from "./classroom/room.js";
import { mendBrowsing } from "./components/browsing.js";
import { mendLostConnection } from "./components/lost_connection.js";
import { mendPrinting } from "./components/printing.js";
import { withFile } from "./components/saved_picture.js";
import { addTeachersView } from "./components/teachers_view.js";
import * as widgets from "./widgets.js";

// A page's code may be run again after another page: what the widgets keep must stay theirs.
if (!window.attnvizCode) {
  mendBrowsing();
  mendLostConnection();
  mendPrinting();
  room.begin();
  addTeachersView();
  window.attnvizCode = Object.fromEntries(
    Object.entries(widgets).map(([name, show]) => [name, withFile(show)]),
  );
}
window.dispatchEvent(new CustomEvent("attnviz:code"));

export default () => {};
