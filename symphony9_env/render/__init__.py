"""Images of a `SeatView`, as SVG, as pixels or in a window. They contain only what that seat may know."""
