"""What the game is. The one place where rules are written; see docs/developer_guide.md for the rooms."""
