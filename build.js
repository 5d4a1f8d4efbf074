/* build: bundles the JavaScript for the browser; with --check, only checks that the committed bundles are current. */

import { readFile, writeFile } from "node:fs/promises";
import console from "node:console";
import process from "node:process";
import { build, transform } from "esbuild";

const BUNDLES = [
  { entry: "attnviz/app/app.js", to: "attnviz/widgets/bundle/app.js", format: "esm" },
  { entry: "attnviz/export/report/file.js", to: "attnviz/widgets/bundle/report.js", format: "iife" },
  { entry: "attnviz/site/explore.js", to: "attnviz/widgets/bundle/site.js", format: "esm" },
  { entry: "attnviz/site/worker.js", to: "attnviz/widgets/bundle/worker.js", format: "iife" },
];

/** Imports style sheets as text, for the widgets' shadow roots. Except in look.css, rem becomes px: widgets are zoomed to the text size. */
const styles = {
  name: "styles",
  /** @param {import("esbuild").PluginBuild} plugin */
  setup(plugin) {
    plugin.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      const pixels = code.replace(/([\d.]+)rem\b/g, (_, size) => `${16 * Number(size)}px`);
      return { contents: path.endsWith("look.css") ? code : pixels, loader: "text" };
    });
  },
};

const check = process.argv.includes("--check");
for (const { entry, to, format } of BUNDLES) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: /** @type {import("esbuild").Format} */ (format),
    charset: "utf8",
    // Streamlit would treat a script without a line break as a path.
    banner: { js: `/* Made from ${entry} by "npm run build". */\n` },
    plugins: [styles],
  });
  const bundle = outputFiles[0].text;
  if (!check) await writeFile(to, bundle);
  else if (bundle !== (await readFile(to, "utf8"))) {
    console.error(`${to} is outdated. Run: npm run build`);
    process.exitCode = 1;
  }
}
