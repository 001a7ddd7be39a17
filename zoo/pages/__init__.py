"""Pages: self-contained HTML files that load nothing, work without a network, and treat all text as hostile.

A page is a Jinja template that extends `zoo.pages/base.html`; `rendering.render` makes it. Imports no torch.
"""
