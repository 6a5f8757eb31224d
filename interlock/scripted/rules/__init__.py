"""The rules of the Messages API for one request, group by group; the table is ../validate.py.

Each rule yields complaints in the API's own words, beginning with the place.
"""
