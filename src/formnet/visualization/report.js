// Point at a field or at its frame: both light up, and a click brings the other into view.
function mark(id, on, bring) {
  document.querySelectorAll('[data-e="' + id + '"]').forEach(function (node) {
    node.classList.toggle("on", on);
    if (on && bring && node.tagName.toLowerCase() === bring) node.scrollIntoView({ block: "nearest" });
  });
}
document.querySelectorAll("[data-e]").forEach(function (node) {
  var id = node.dataset.e;
  var other = node.tagName === "TR" ? "rect" : "tr";
  node.addEventListener("mouseenter", function () { mark(id, true); });
  node.addEventListener("mouseleave", function () { mark(id, false); });
  node.addEventListener("focus", function () { mark(id, true, "rect"); });
  node.addEventListener("blur", function () { mark(id, false); });
  node.addEventListener("click", function () { mark(id, true, other); });
});
