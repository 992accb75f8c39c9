"""Values as HTML: in notebooks, and the report's page with its figures."""
