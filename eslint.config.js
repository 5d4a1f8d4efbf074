import js from "@eslint/js";
import globals from "globals";

const forbidden = ["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({
  property,
  message: "Tokens are user input, so set text with textContent.",
}));

const clearRect = { property: "clearRect", message: "Chromium prints a cleared canvas blank. Use reset()." };

export default [
  { ignores: ["attnviz/widgets/bundle/", ".venv/", "build/"] },
  js.configs.recommended,
  {
    rules: {
      "consistent-return": "error",
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-properties": ["error", ...forbidden, clearRect],
      "no-shadow": "error",
      "no-undef-init": "error",
      "no-unused-expressions": ["error", { allowShortCircuit: true }],
      "no-unused-vars": ["error", { args: "all", argsIgnorePattern: "^_" }],
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  { files: ["attnviz/**/*.js", "benchmarks/*.js", "docs/*.js"], languageOptions: { globals: globals.browser } },
];
