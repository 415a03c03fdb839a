"""Operations on a store: each returns plans, one module applies them and is the only writer."""
