/* widgets: every widget of the app, under the name by which Python mounts it. */

export { default as atlas } from "../widgets/atlas.js";
export { default as copy_link } from "./components/copy_link.js";
export { default as head_map } from "./components/head_map.js";
export { default as head_view } from "../widgets/head_view.js";
export { default as passage } from "./explore/passage.js";
export { default as patches } from "../widgets/patches.js";
export { default as room_bar } from "./classroom/room_bar.js";
export { default as share_table } from "./components/share_table.js";
export { default as steps } from "./components/steps.js";
export { default as store } from "../widgets/store.js";
