describe("<Panel>", () => {
  it("shows its children", () => {
    render(<Panel>text</Panel>);
  });
});
