/** The shop as a module. */
open module org.example.shop {
  requires java.base;
  exports org.example.shop;
}
