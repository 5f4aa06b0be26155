// Highlight a field and its frames together on hover and focus; a click scrolls to the other one.
function highlight(keys, on, scrollTo) {
  keys.forEach(function (key) {
    document.querySelectorAll('[data-e~="' + key + '"]').forEach(function (node) {
      node.classList.toggle("on", on);
      if (on && scrollTo && node.tagName.toLowerCase() === scrollTo) node.scrollIntoView({ block: "nearest" });
    });
  });
}
document.querySelectorAll("[data-e]").forEach(function (node) {
  var key = node.dataset.e.split(" ").filter(Boolean);
  var counterpart = node.tagName === "TR" ? "rect" : "tr";
  node.addEventListener("mouseenter", function () { highlight(key, true); });
  node.addEventListener("mouseleave", function () { highlight(key, false); });
  node.addEventListener("focus", function () { highlight(key, true, "rect"); });
  node.addEventListener("blur", function () { highlight(key, false); });
  node.addEventListener("click", function () { highlight(key, true, counterpart); });
});
