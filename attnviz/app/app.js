/* app: one-time client-side setup, shared by all pages. */

import { room } from "./classroom/room.js";
import { installHistoryHandler } from "./components/browsing.js";
import { installReconnectMessage } from "./components/lost_connection.js";
import { installPrintHandlers } from "./components/printing.js";
import { withFile } from "./components/saved_picture.js";
import { addTeachersView } from "./components/teachers_view.js";
import * as widgets from "./widgets.js";

// This module may run again after a change of page; the widgets must keep their state.
if (!window.attnvizCode) {
  installHistoryHandler();
  installReconnectMessage();
  installPrintHandlers();
  room.begin();
  addTeachersView();
  window.attnvizCode = Object.fromEntries(
    Object.entries(widgets).map(([name, show]) => [name, withFile(show)]),
  );
}
window.dispatchEvent(new CustomEvent("attnviz:code"));

export default () => {};
