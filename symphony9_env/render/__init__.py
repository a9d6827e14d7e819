"""Pictures of a view: SVG, pixels, a window. They are made from what a seat may know and can't see more."""
