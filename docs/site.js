// The theme's search dialog has no name; a screen reader would only say "dialog".
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
