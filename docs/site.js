// The theme's search is a dialog without a name; a screen reader would say "dialog" alone.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
