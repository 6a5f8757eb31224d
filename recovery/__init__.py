"""The ways back from an answer that is not whole: guards, reducers, and the steps that wait."""
