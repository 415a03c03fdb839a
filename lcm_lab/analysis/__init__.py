"""What a store holds, measured: frames, budget, the summary DAG, health, figures."""
