"""The graph of an estate as pictures: text, Mermaid, DOT, SVG, HTML."""
