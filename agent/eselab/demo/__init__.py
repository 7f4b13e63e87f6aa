"""The demo: bundled engines with a month behind them, watched by the agent."""
